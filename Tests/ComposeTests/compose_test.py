"""Uses the whole system in containers as people do, and prints what it observed. Anything unexpected is an error.

    Tests/ComposeTests/run            everything, some three minutes after the images are built
    BUILD=no Tests/ComposeTests/run   with the existing images; with names of steps, only those steps
    KEEP=1 Tests/ComposeTests/run     leaves the containers as they are if a step failed

The engine chooses the ports, and the project name is unique to this run, so that nothing else is disturbed.
"""
import json
import os
import re
import sys
import tempfile
import time
import zipfile

import zmq

from client import PORTS, Client, ends
from machine import Machine
from stack import Stack, eventually, run

PROGRAMS = list(PORTS)
ANY_PORTS = {f"{name}_PORTS": "" for name in ["PUBLISHER", "RECORDER", "STEP_COUNTER", "LOG_MANAGER", "ARCHIVER"]}
# Samples per second, and the most that a power cut may lose of each stream: 200 ms. Killing
# everything at once counts as a power cut.
RATE = 100
POWER_CUT = RATE / 5

stack = Stack(f"holdfast-test-{os.getpid()}", **ANY_PORTS)
directory = tempfile.TemporaryDirectory(prefix="holdfast-compose-test-")
begun = time.monotonic()
# The images to remove at the end; the engine keeps their layers for the next run.
images = []


def saw(what):
    print(f"{time.monotonic() - begun:6.1f} s  {what}")


def every_variable_is_explained():
    files = "".join(open(f"compose/{name}").read() for name in ["compose.yaml", "scale.yaml", "watching.yaml", "jetstream.yaml"])
    variables = set(re.findall(r"\$\{(\w+)", files))
    with_default = set(re.findall(r"\$\{(\w+):?-", files))
    explained = set(re.findall(r"`(HOLDFAST_\w+)`", open("compose/README.md").read()))
    assert variables == with_default, variables - with_default
    assert variables <= explained, variables - explained
    saw(f"each of {len(variables)} variables has a default, and a line in compose/README.md")


def the_sites_and_the_centre_are_a_valid_project():
    run("docker", "compose", "--file", "compose/jetstream.yaml", "config", "--quiet")
    saw("compose/jetstream.yaml is a project of three servers, two sites and two recorders at the centre")


def build():
    # Another run may build from other sources at the same time.
    stack.variables["TAG"] = stack.project
    for line in stack.compose("build", timeout=3600).splitlines()[-3:]:
        print(f"          {line}")
    sizes = []
    images.extend(sorted(set(stack.compose("config", "--images").split())))
    for image in images:
        size = int(run("docker", "image", "inspect", "--format", "{{.Size}}", image)) / 1e6
        sizes.append(f"{image.split('/')[-1].split(':')[0]} {size:.0f}")
    saw(f"images are built, MB: {', '.join(sizes)}")


def a_first_up_records_a_walk():
    stack.compose("up", "--detach", DURATION="20s", TURN_AFTER="8s")
    saw(f"all programs are healthy {stack.healthy(*PROGRAMS):.1f} s after up")
    for program in PROGRAMS:
        status = stack.execute(program, "sh", "-c", "id -u; cat /proc/1/status")
        assert status.split()[0] == "10001" and "CapEff:\t0000000000000000" in status, status
        assert "CapBnd:\t0000000000000000" in status and "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status, status
        written = stack.execute(program, "sh", "-c", "for d in / /usr /etc /keys; do : >$d/x && echo $d; done 2>&-",
                                check=False)
        assert written == "", written
    saw("none runs as root, has a capability, can gain one, or can write to its image")


def client(name, role):
    """A client that the README's commands admit."""
    keys = f"{directory.name}/{stack.project}"
    if not os.path.exists(keys):
        os.mkdir(keys)
        for program in PROGRAMS:
            stack.compose("cp", f"keys:/keys/{program}.key", keys)
    if not os.path.exists(f"{keys}/{name}.key_secret"):
        stack.compose("run", "--rm", "--no-TTY", "keys", "add", "/keys", name, "--role", role)
        stack.compose("cp", f"keys:/keys/{name}.key_secret", keys)
    return Client(stack, keys, name)


def commander():
    return client("alice", "command")


def the_host_listens_and_records_with_a_key():
    alice, bob = commander(), client("bob", "listen")
    batches = bob.listen("sensor-publisher", "samples/", 50)
    device = batches[0]["device"]
    assert [batch["sequence"] for batch in batches] == list(range(batches[0]["sequence"], batches[0]["sequence"] + 50))
    (description,) = bob.listen("sensor-publisher", f"stream/{device}/", 1)
    saw(f"bob, who may listen, hears {device}: {description['rate']} samples a second of {description['fields']}")

    updates = alice.ask("step-counter", "steps.startUpdates", device=device, updateOn=2)
    session = alice.ask("recorder", "recording.start", session="host", task="Host", step="one", streams=[f"{device}/"])
    assert session["status"] == "running", session
    # The updates also include beginnings and ends of bouts.
    steps = [one for one in bob.listen("step-counter", updates["topic"], 5) if "numberOfSteps" in one]
    alice.ask("recorder", "recording.moveTo", session="host", step="two")
    result = alice.ask("recorder", "recording.stop", session="host")
    assert result["report"]["isWhole"] and result["logs"][0]["samples"] > 100, result
    alice.ask("step-counter", "steps.stopUpdates", subscription=updates["subscription"])
    counted = steps[-1]["numberOfSteps"]
    saw(f"alice, who may command, recorded {result['logs'][0]['samples']} samples; bob heard {counted} steps meanwhile")


def others_get_nothing():
    alice, bob = commander(), client("bob", "listen")
    assert bob.ask("recorder", "recording.result", session="host")["report"]["isWhole"]
    refusals = [bob.reply("recorder", "recording.start", streams=["*"]),
                alice.reply("log-manager", "logs.removeOldAndUploaded", bytes=0)]
    assert [refusal["error"]["data"]["reason"] for refusal in refusals] == ["notAllowed"] * 2, refusals
    saw(f"bob may not record: {refusals[0]['error']['message']}")
    saw(f"alice may not delete: {refusals[1]['error']['message']}")
    for who, pair in [("a key that is on no list", zmq.curve_keypair()), ("plain text", None)]:
        stranger = Client(stack, alice.keys, pair=pair)
        for program in PROGRAMS:
            assert stranger.reply(program, "service.health", timeout=0.5) is None, (who, program)
        assert stranger.listen("sensor-publisher", "", 1, timeout=1) == [], who
        saw(f"with {who} no program answers, and there is nothing to hear")
    refused = [line for line in stack.log("recorder").splitlines() if "client refused" in line]
    assert refused, stack.log("recorder")
    saw(f"the recorder's log says who tried: {refused[-1].split(' : ')[-1]}")


def the_session_is_whole_and_archived():
    code = stack.exit_code("session")
    log = stack.log("session")
    assert code == 0, f"session exited {code}:\n{log}"
    session = recorded_session(log)
    assert f"{session}: " in log.splitlines()[-1] and log.endswith(": whole"), log
    saw(log.splitlines()[-1])
    made = eventually("the session is archived", lambda: archive_line(session), 60, lambda: stack.log("archiver"))
    saw(f"archiver: {made.split(' : ')[-1]}")
    walked = [line for line in stack.log("step-counter").splitlines() if " walked" in line]
    assert walked, stack.log("step-counter")
    saw(f"step-counter: {walked[-1].split(' : ')[-1]}")
    verified = stack.execute("archiver", "archiver", "verify", f"/data/archives/{session}.zip").splitlines()
    stack.compose("cp", f"archiver:/data/archives/{session}.zip", directory.name)
    with zipfile.ZipFile(f"{directory.name}/{session}.zip") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert any(name.endswith(".json") for name in names), names
    saw(f"the archive is sound: {verified[-1].split(': ', 1)[1]}; {len(names)} files for others too")


def archive_line(session):
    for line in stack.log("archiver").splitlines():
        if "archive made" in line and session in line:
            return line
    return None


def recorded_session(log):
    lines = [line for line in log.splitlines() if line.startswith(("recording session ", "continuing session "))]
    return lines[-1].split()[-1]


def each_program_may_be_killed():
    commander().ask("recorder", "recording.start", session="kills", streams=["*"])
    for program in ["recorder", "step-counter", "log-manager", "archiver", "sensor-publisher"]:
        stack.kill(program)
        took = stack.healthy(program)
        before = samples("kills")
        eventually("more samples are recorded", lambda: samples("kills") > before + 100, 60)
        saw(f"{program}: killed with -9, healthy again {took:.1f} s after its restart, and the session goes on")
    result = commander().ask("recorder", "recording.stop", session="kills")
    assert result["report"]["isWhole"], result["report"]
    verdict = stack.execute("recorder", "recorder", "verify", "/data/recordings/kills")
    assert verdict.endswith(": whole"), verdict
    saw(verdict.splitlines()[-1])


def samples(session):
    state = commander().ask("recorder", "recording.status", session=session)
    return sum(log["samples"] for log in state["logs"])


def three_publishers_are_recorded():
    stack.compose("up", "--detach", "--scale", "sensor-publisher=3", DURATION="8s", TURN_AFTER="4s")
    code = stack.exit_code("session")
    log = stack.log("session")
    assert code == 0, f"session exited {code}:\n{log}"
    result = commander().ask("recorder", "recording.result", session=recorded_session(log))
    counts = {entry["name"]: entry["samples"] for entry in result["logs"]}
    assert len(counts) == 3 and min(counts.values()) > 300 and result["report"]["isWhole"], result
    saw(f"--scale sensor-publisher=3 records all three: {counts}")
    devices = {commander().listen("sensor-publisher", "samples/", 1, index)[0]["device"] for index in (1, 2, 3)}
    assert len(devices) == 3, devices
    saw(f"the host hears {len(devices)} devices")


def a_second_up_goes_on_after_a_kill():
    stack.compose("up", "--detach", DURATION="25s", TURN_AFTER="2s")
    session = eventually("a session is started", lambda: "recording session" in stack.log("session")
                         and recorded_session(stack.log("session")))
    listener = commander().samples()
    eventually("samples are recorded", lambda: samples(session) > 300)
    stack.compose("kill")
    published = ends(listener)
    # The engine kills containers one after the other: samples published after the recorder's end
    # are not part of a power cut's loss.
    alone = max(0, stack.ended_at("sensor-publisher") - stack.ended_at("recorder")) * RATE
    states = {container["State"]["ExitCode"] for name in PROGRAMS + ["session"] for container in stack.containers(name)}
    assert states == {137}, states
    saw(f"every container was killed with -9 while {session} was recorded")
    stack.compose("up", "--detach", DURATION="25s", TURN_AFTER="2s")
    stack.healthy(*PROGRAMS)
    code = stack.exit_code("session")
    log = stack.log("session")
    assert f"continuing session {session}" in log, log
    result = commander().ask("recorder", "recording.result", session=session)
    (stream,) = result["report"]["streams"]
    assert result["status"] == "finished" and len(result["report"]["restarts"]) == 1, result
    first, second = stream["epochs"]
    lost = published[first["epoch"]] - first["next"]
    # No publisher is left that could report the loss: the session has a gap of unknown length.
    assert lost <= POWER_CUT + alone and (lost <= 0 or stream["gaps"]), (result, lost)
    assert code == (3 if stream["gaps"] else 0), (code, result)
    saw(f"a second up went on with it: {first['next'] - first['from']} samples from before, {second['next']} later ones")
    saw(f"of those that the host heard {max(0, lost)} were lost; gaps in the log: {len(stream['gaps'])}; exit code {code}")
    saw(f"{alone:.0f} samples were published after the recorder's end")
    eventually("it is archived", lambda: archive_line(session))
    saw(log.splitlines()[-1])


def everything_stops_in_good_order():
    stack.compose("up", "--detach", DURATION="1h")
    eventually("a session is started", lambda: stack.log("session").count("recording session") and samples(
        recorded_session(stack.log("session"))) > 100)
    start = time.monotonic()
    stack.compose("stop")
    codes = {container["Name"]: container["State"]["ExitCode"] for container in stack.containers()}
    log = stack.log("session")
    assert set(codes.values()) <= {0}, (codes, log)
    assert log.endswith(": whole"), log
    took = time.monotonic() - start
    saw(f"stopped while it recorded, after {took:.1f} s: {len(codes)} containers, each with exit code 0")


def two_recorders_divide_the_devices():
    nothing_is_left()
    stack.project += "-scale"
    stack.files = ["compose/compose.yaml", "compose/scale.yaml"]
    stack.compose("up", "--detach", DURATION="8s", TURN_AFTER="4s", RECORDER_2_PORTS="")
    stack.healthy(*PROGRAMS, "recorder-2")
    devices = []
    for session in ["session", "session-2"]:
        code = stack.exit_code(session)
        log = stack.log(session)
        assert code == 0 and log.endswith(": whole"), log
        result = commander().ask("recorder", "recording.result", session=recorded_session(log))
        devices.append([stream["stream"].split("/")[0] for stream in result["report"]["streams"]])
        eventually("it is archived", lambda: archive_line(recorded_session(log)))
    assert len(set(sum(devices, []))) == len(sum(devices, [])) == 3, devices
    saw(f"compose/scale.yaml: of three devices one recorder took {devices[0]}, the other {devices[1]}; all archived")


def prometheus_asks_every_program():
    nothing_is_left()
    stack.project += "-watching"
    stack.files = ["compose/compose.yaml", "compose/watching.yaml"]
    stack.variables["PROMETHEUS_PORT"] = ""
    # Grafana's image is not built here, and may be unavailable.
    stack.compose("up", "--detach", "--build", "prometheus", *PROGRAMS, timeout=600)
    images.append(stack.container("prometheus")["Config"]["Image"])
    stack.healthy("prometheus")

    def ask(expression):
        answer = stack.execute("prometheus", "curl", "-fsS", "--get", "--data-urlencode", f"query={expression}",
                               "http://127.0.0.1:9090/api/v1/query")
        return [float(element["value"][1]) for element in json.loads(answer)["data"]["result"]]

    eventually("Prometheus reaches all five", lambda: ask('sum(up{job="holdfast"})') == [5], 90, lambda: ask("up"))
    alerts = json.loads(stack.execute("prometheus", "curl", "-fsS", "http://127.0.0.1:9090/api/v1/rules"))
    names = {rule["name"] for group in alerts["data"]["groups"] for rule in group["rules"]}
    written = set(re.findall(r"- alert: (\w+)", open("compose/prometheus/holdfast.rules.yaml").read()))
    explained = set(re.findall(r"`(Holdfast\w+)`", open("docs/watching.md").read()))
    assert names and names == written and names <= explained, (names ^ written, names - explained)
    # The name of a stopped container has no address.
    stack.compose("stop", "log-manager")
    eventually("the stopped program is reported",
               lambda: ask('ALERTS{alertname="HoldfastTargetDown", alertstate="firing"}') == [1], 90, lambda: ask("up"))
    saw(f"compose/watching.yaml: Prometheus reaches all five programs, with {len(names)} alerts, and reports a stopped one")


def the_package_works_on_a_bare_debian():
    # The output of installing, using, removing and purging the package is part of the build's
    # output, which is shown on failure.
    run("docker", "build", "--quiet", "--file", "compose/Dockerfile", "--target", "package-test", ".", timeout=1800)
    saw("the Debian package is installed on a bare Debian 12, shows a walk, and is removed and purged")


def the_package_records_over_an_upgrade_and_a_reboot():
    image = run("docker", "build", "--quiet", "--file", "compose/Dockerfile", "--target", "package-machine", ".",
                timeout=1800)
    images.append(image)
    with Machine(image) as machine:
        # A package of the previous version: the same programs, since no version was published yet.
        machine.sh("dpkg-deb --raw-extract /packages/holdfast_*.deb /tmp/before && "
                   "sed -i 's/^Version: .*/Version: 0.5.9/' /tmp/before/DEBIAN/control && "
                   "dpkg-deb -Znone --build /tmp/before /tmp/before.deb && dpkg --install /tmp/before.deb")
        machine.sh("echo HOLDFAST_SIGNAL=walk >>/etc/holdfast/sensor-publisher.env && "
                   "systemctl enable --now holdfast.target")

        def status(session):
            return machine.sh(f"recorder info /var/lib/holdfast/recordings/{session} 2>&1", check=False)

        def runs(session):
            found = re.search(r"/accelerometer +([0-9]+)", status(session))
            return found and int(found[1]) >= 100

        def ended(session):
            eventually(f"{session} has ended",
                       lambda: "SHA256SUMS" in machine.sh(f"ls /var/lib/holdfast/recordings/{session}"), 90,
                       lambda: status(session) + machine.sh("journalctl --no-pager --boot --unit 'holdfast@*'"))

        eventually("all programs run", lambda: machine.sh("systemctl is-active 'holdfast@*'", check=False).split()
                   == ["active"] * 6)
        machine.begin("recorder record --session upgrade --streams '*' --duration 25s >/root/record.txt 2>&1")
        eventually("a session runs", lambda: runs("upgrade"), explain=lambda: status("upgrade"))
        publisher = machine.sh("systemctl show --value --property MainPID holdfast@sensor-publisher")
        recorder = machine.sh("systemctl show --value --property MainPID holdfast@recorder")
        print(machine.sh("dpkg --install /packages/holdfast_*.deb"))
        assert machine.sh("systemctl show --value --property MainPID holdfast@sensor-publisher") == publisher
        assert machine.sh("systemctl show --value --property MainPID holdfast@recorder") != recorder
        ended("upgrade")
        said = machine.sh("recorder verify /var/lib/holdfast/recordings/upgrade")
        assert "whole" in said, said
        saw(f"an upgrade of the package while a session runs costs no sample: {said.splitlines()[-1]}")

        machine.begin("recorder record --session reboot --streams '*' --duration 20s >/root/record.txt 2>&1")
        eventually("a session runs", lambda: runs("reboot"), explain=lambda: status("reboot"))
        machine.reboot()
        ended("reboot")
        path = "/var/lib/holdfast/recordings/reboot"
        said = machine.sh(f"recorder verify {path}", check=False)
        # Samples that the sensors measure while the machine is down are never published: the
        # samples that each publisher did publish are complete.
        assert "lost" not in said and "whole" in said, said

        machine.sh("dpkg --remove holdfast && test -d /var/lib/holdfast/recordings/upgrade")
        left = machine.sh("systemctl list-units --no-legend --state active,activating 'holdfast*'")
        assert left == "", left
        said = machine.sh("dpkg --purge holdfast")
        assert "recordings are left" in said, said
        saw("a session goes on over a reboot; the package is removed and purged, and the recordings stay")


def nothing_is_left():
    stack.compose("down", "--volumes", "--remove-orphans")
    assert stack.leftovers() == [], stack.leftovers()
    saw("down: no container, volume or network is left")


def main():
    global begun
    try:
        if os.environ.get("BUILD") != "no":
            build()
        begun = time.monotonic()
        for step in [every_variable_is_explained, the_sites_and_the_centre_are_a_valid_project, a_first_up_records_a_walk,
                     the_host_listens_and_records_with_a_key, others_get_nothing, the_session_is_whole_and_archived, each_program_may_be_killed,
                     three_publishers_are_recorded, everything_stops_in_good_order, a_second_up_goes_on_after_a_kill,
                     two_recorders_divide_the_devices, prometheus_asks_every_program, nothing_is_left,
                     the_package_works_on_a_bare_debian,
                     the_package_records_over_an_upgrade_and_a_reboot]:
            if len(sys.argv) == 1 or step.__name__ in sys.argv:
                step()
    except BaseException:
        print(f"compose-test: failed after {time.monotonic() - begun:.0f} s", file=sys.stderr)
        print(stack.compose("ps", "--all", check=False), file=sys.stderr)
        print(stack.compose("logs", "--tail", "40", check=False), file=sys.stderr)
        if not os.environ.get("KEEP"):
            stack.compose("down", "--volumes", "--remove-orphans", "--timeout", "5", check=False)
        raise
    finally:
        for image in images:
            run("docker", "image", "rm", "--force", image, check=False)
    print("compose-test: passed")


main()
