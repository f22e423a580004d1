"""The containers of a test, under a unique project name."""
import calendar
import json
import os
import subprocess
import time


class Stack:
    """A project of `docker compose` in the current directory, whose .env names the file as usual."""

    def __init__(self, project, **variables):
        self.project = project
        self.files = []
        self.variables = variables

    def compose(self, *arguments, check=True, timeout=120, **variables):
        """Runs docker compose, and returns its output. Variables are those of compose/README.md."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        environment.pop("COMPOSE_FILE", None)
        environment |= {"COMPOSE_PROJECT_NAME": self.project, "BUILDKIT_PROGRESS": "plain"}
        environment |= {f"HOLDFAST_{name}": value for name, value in (self.variables | variables).items()}
        files = [word for file in self.files for word in ("--file", file)]
        return run("docker", "compose", *files, *arguments, check=check, timeout=timeout, environment=environment)

    def containers(self, service=None, everything=True):
        """The containers as the engine describes them; including ended ones if everything is requested."""
        names = self.compose("ps", "--quiet", *(["--all"] if everything else []), *([service] if service else []))
        return json.loads(run("docker", "inspect", *names.split())) if names else []

    def container(self, service):
        (container,) = self.containers(service)
        return container

    def port(self, service, port, index=1):
        """The address at which a service's port is reachable from here."""
        return "tcp://" + self.compose("port", "--index", str(index), service, str(port))

    def log(self, service):
        """The output of a service's container, standard error included."""
        return run("docker", "logs", self.container(service)["Id"], errors=True)

    def execute(self, service, *command, check=True):
        return self.compose("exec", "--no-TTY", service, *command, check=check)

    def kill(self, service):
        """Kills a service's program in its container with -9, as the kernel does if memory runs out, and waits until
        the engine has started it again."""
        before = self.container(service)
        self.execute(
            service, "sh", "-c", 'for p in /proc/[0-9]*; do read -r name <"$p/comm"; [ "$name" != "$1" ] || '
            'kill -9 "${p#/proc/}"; done', "sh", service[:15], check=False)
        eventually(f"{service} is started again", lambda: self.container(service)["RestartCount"]
                   > before["RestartCount"])

    def healthy(self, *services, within=60):
        """Waits until containers of these services are healthy; returns how long this took, in seconds."""
        start = time.monotonic()

        def states():
            return {container["Name"]: container["State"].get("Health", {}).get("Status", "no health check")
                    for service in services for container in self.containers(service)}

        eventually("everything is healthy", lambda: set(states().values()) == {"healthy"}, within, states)
        return time.monotonic() - start

    def exit_code(self, service, within=120):
        """Waits until a service's container has ended, and returns its exit code."""
        eventually(f"{service} has ended", lambda: self.container(service)["State"]["Status"] == "exited", within,
                   lambda: self.log(service))
        return self.container(service)["State"]["ExitCode"]

    def ended_at(self, service):
        """When a service's container ended, in seconds since 1970."""
        date, _, fraction = self.container(service)["State"]["FinishedAt"].rstrip("Z").partition(".")
        return calendar.timegm(time.strptime(date, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{fraction or 0}")

    def leftovers(self):
        """The remains of this project in the engine."""
        label = f"label=com.docker.compose.project={self.project}"
        return (run("docker", "ps", "--all", "--quiet", "--filter", label).split()
                + run("docker", "volume", "ls", "--quiet", "--filter", label).split()
                + run("docker", "network", "ls", "--quiet", "--filter", label).split())


def run(*command, check=True, timeout=120, environment=None, errors=False):
    """Runs a command, and returns its output, with standard error if requested. A failing command is an error."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if errors else subprocess.PIPE,
                            stdin=subprocess.DEVNULL, text=True, timeout=timeout, env=environment)
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(command)} exited {result.returncode}:\n{result.stdout}{result.stderr or ''}")
    return result.stdout.strip()


def eventually(what, condition, within=60, explain=lambda: ""):
    """Waits until a condition holds, and returns its value."""
    deadline = time.monotonic() + within
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what}; {explain()}")
        time.sleep(0.1)
    return value
