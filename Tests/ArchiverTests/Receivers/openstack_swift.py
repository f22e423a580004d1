"""OpenStack Swift with its S3 interface, entirely in this process: proxy, account, container and object server.

    openstack_swift.py DIRECTORY

Keeps objects below DIRECTORY, which is new. Prints a line of JSON with the endpoint and the key when it listens, and
ends when its parent process has ended. It checks signatures, the SHA-256 of bodies and x-amz-checksum-sha256, as a
public server must.
"""
import json
import os
import sys

from swift.common import utils

utils.monkey_patch()

import eventlet
import eventlet.wsgi
from swift.account.server import AccountController
from swift.common import storage_policy
from swift.common.http_protocol import SwiftHttpProtocol
from swift.common.ring import RingData
from swift.common.wsgi import loadapp
from swift.container.server import ContainerController
from swift.obj.server import ObjectController

PROXY = """
[DEFAULT]
swift_dir = {0}
[pipeline:main]
pipeline = catch_errors gatekeeper listing_formats s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_study_archiver = testing .admin
[filter:slo]
use = egg:swift#slo
rate_limit_after_segment = 10000
"""


class Silence:
    def write(self, *_):
        pass


def main():
    directory = os.path.abspath(sys.argv[1])
    os.makedirs(os.path.join(directory, "devices", "disk"))
    with open(os.path.join(directory, "swift.conf"), "w") as file:
        file.write("[swift-hash]\nswift_hash_path_suffix = tests\n")
    utils.set_swift_dir(directory)
    utils.validate_configuration()
    storage_policy.reload_storage_policies()

    conf = {
        "devices": os.path.join(directory, "devices"),
        "swift_dir": directory,
        "mount_check": "false",
        "disable_fallocate": "true",
    }
    sockets = {}
    for name in ("account", "container", "object"):
        sockets[name] = eventlet.listen(("127.0.0.1", 0))
        port = sockets[name].getsockname()[1]
        device = {
            "id": 0, "region": 1, "zone": 1, "weight": 1.0, "device": "disk", "meta": "",
            "ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port,
        }
        RingData([[0]], [device], 32).save(os.path.join(directory, name + ".ring.gz"))

    def serve(socket, app):
        eventlet.spawn(
            eventlet.wsgi.server, socket, app, log=Silence(), log_output=False, protocol=SwiftHttpProtocol,
            capitalize_response_headers=False)

    serve(sockets["account"], AccountController(conf))
    serve(sockets["container"], ContainerController(conf))
    serve(sockets["object"], ObjectController(conf))
    configuration = os.path.join(directory, "proxy-server.conf")
    with open(configuration, "w") as file:
        file.write(PROXY.format(directory))
    proxy = eventlet.listen(("127.0.0.1", 0))
    serve(proxy, loadapp(configuration))
    print(json.dumps({
        "endpoint": "http://127.0.0.1:%d" % proxy.getsockname()[1], "key": "study:archiver", "secret": "testing",
    }), flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        eventlet.sleep(1)


main()
