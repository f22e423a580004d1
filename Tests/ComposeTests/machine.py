"""A machine with systemd, as a container."""
from stack import eventually, run


class Machine:
    """Boots at once; removed at the end of a `with` block."""

    def __init__(self, image):
        self.image = image

    def __enter__(self):
        self.name = run("docker", "run", "--detach", "--privileged", "--cgroupns", "private", "--tmpfs", "/run",
                        "--stop-signal", "SIGRTMIN+3", self.image)
        self.booted()
        return self

    def __exit__(self, *_):
        run("docker", "rm", "--force", "--volumes", self.name, check=False)

    def sh(self, script, check=True, timeout=120):
        """Runs a script as root, and returns its output."""
        return run("docker", "exec", self.name, "sh", "-ec", script, check=check, timeout=timeout)

    def begin(self, script):
        """Starts a script without waiting for it."""
        run("docker", "exec", "--detach", self.name, "sh", "-ec", script)

    def reboot(self):
        """Shuts everything down in order, as a restarted machine does, and boots again."""
        self.sh("systemctl reboot", check=False)
        eventually("the machine is down", lambda: run("docker", "inspect", "--format", "{{.State.Status}}", self.name)
                   == "exited")
        run("docker", "start", self.name)
        self.booted()

    def booted(self):
        eventually("the machine has booted", lambda: self.sh("systemctl is-system-running", check=False) == "running",
                   120, lambda: self.sh("systemctl list-units --failed; systemctl list-jobs", check=False))
