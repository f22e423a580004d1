"""moto's S3, whose answers imitate Amazon's, with its check of signatures.

    moto_s3.py

Prints a line of JSON with the endpoint and the key when it listens, and ends when its parent process has ended. It answers with
x-amz-checksum-sha256, also that of parts, but does not compare bodies with their declared hashes.
"""
import json
import os
import time

# The first requests, which make the key, need no signature yet.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "3"

import boto3
from moto.server import ThreadedMotoServer

POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


def main():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = "http://%s:%d" % (host, port)
    iam = boto3.client(
        "iam", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none")
    iam.create_user(UserName="archiver")
    iam.put_user_policy(UserName="archiver", PolicyName="all", PolicyDocument=json.dumps(POLICY))
    key = iam.create_access_key(UserName="archiver")["AccessKey"]
    print(json.dumps(
        {"endpoint": endpoint, "key": key["AccessKeyId"], "secret": key["SecretAccessKey"]}), flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


main()
