"""Kernels for papermill: forked by the server of `icl_book.runner.preload`, without it ordinary."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib.metadata import EntryPoint

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

from icl_book.runner.preload import SOCKET, heard


class Forked:
    """A forked kernel with the methods of `subprocess.Popen` that a provisioner calls."""

    stdin = stdout = stderr = returncode = None

    def __init__(self, pid: int, connection: socket.socket):
        self.pid, self.connection = pid, connection

    def poll(self) -> int | None:
        if self.returncode is None:
            with suppress(BlockingIOError):
                status = heard(self.connection, socket.MSG_DONTWAIT)
                # Without the server the kernel is dead.
                self.returncode = -signal.SIGKILL if status is None else status
                self.connection.close()
        return self.returncode

    def wait(self) -> int:
        while self.poll() is None:
            time.sleep(0.05)
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork(command: list[str], environment: dict[str, str], folder: str) -> Forked | None:
    """Ask the server for a kernel.

    Args:
        command: The command that starts an ordinary kernel.
        environment: The kernel's environment variables.
        folder: The folder it works in.

    Returns:
        The kernel; None without a server, or if the server is no match for the command or the environment.
    """
    if not (path := os.environ.get(SOCKET)) or command[:3] != [sys.executable, "-m", "ipykernel_launcher"]:
        return None
    request = {"arguments": command[2:], "environment": environment, "folder": folder}
    connection = socket.socket(socket.AF_UNIX)
    with suppress(OSError):
        connection.connect(path)
        connection.sendall(json.dumps(request).encode() + b"\n")
        if pid := heard(connection):
            return Forked(pid, connection)
    connection.close()
    return None


class Provisioner(LocalProvisioner):
    """Starts kernels."""

    async def launch_kernel(self, cmd: list[str], **kwargs) -> KernelConnectionInfo:
        folder = os.path.abspath(kwargs.get("cwd") or ".")
        if not (process := fork(cmd, kwargs["env"], folder)):
            return await super().launch_kernel(cmd, **kwargs)
        self.process, self.pid, self.pgid, self.cwd = process, process.pid, process.pid, folder
        return self.connection_info


def register() -> None:
    """Let Jupyter start this process's kernels with the provisioner."""
    factory, name = KernelProvisionerFactory.instance(), "icl"
    factory.provisioners[name] = EntryPoint(name, f"{__name__}:{Provisioner.__name__}", factory.GROUP_NAME)
    factory.default_provisioner_name = name
