"""Amazon's own client for Python, behind a little web server, because starting the client takes longer than a request.

    GET /make?bucket=B          makes a bucket
    GET /get?bucket=B&key=K     a line of JSON: bytes, sha256
    GET /put?bucket=B&key=K     makes an object of five bytes
    GET /uploads?bucket=B&key=K how many multipart uploads are open

Each with endpoint, identifier and secret. Prints a line of JSON with its endpoint when it listens, and ends when who
started it has ended.
"""
import hashlib
import json
import os
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import boto3
from botocore.config import Config

making = threading.Lock()


def answer(command, bucket, endpoint, identifier, secret, key=None):
    with making:
        client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=identifier,
            aws_secret_access_key=secret, config=Config(s3={"addressing_style": "path"}))
    if command == "/make":
        client.create_bucket(Bucket=bucket)
    elif command == "/put":
        client.put_object(Bucket=bucket, Key=key, Body=b"other")
    elif command == "/uploads":
        return len(client.list_multipart_uploads(Bucket=bucket, Prefix=key).get("Uploads", []))
    elif command == "/get":
        hash, count = hashlib.sha256(), 0
        for piece in client.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(1 << 20):
            hash.update(piece)
            count += len(piece)
        return {"bytes": count, "sha256": hash.hexdigest()}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        try:
            status, body = 200, json.dumps(answer(url.path, **dict(urllib.parse.parse_qsl(url.query))))
        except Exception as error:
            status, body = 500, str(error)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body.encode())


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"endpoint": "http://127.0.0.1:%d" % server.server_address[1]}), flush=True)
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


main()
