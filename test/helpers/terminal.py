"""Runs a command on a pseudo-terminal: reads a JSON job from stdin, writes a JSON result to stdout.

Job: command (list), env (dict), columns, rows, steps (list of {expect, send?, signal?, resize?}), seconds.
A step waits until `expect` was written since the last step, then sends keys or a signal, or resizes the window.
Result: status, signal, output (text), restored (the terminal's settings are as before), failed (the step that never came).
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

job = json.load(sys.stdin)


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


# The slave stays open here, so that its settings can be read after the command is gone.
master, slave = pty.openpty()
resize(slave, job["columns"], job["rows"])
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(slave, fd)
    if job.get("stdout"):
        os.dup2(os.open(job["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    os.closerange(3, 64)
    os.execvpe(job["command"][0], job["command"], job["env"])

output = b""
seen = 0
steps = list(job["steps"])
deadline = time.monotonic() + job["seconds"]
ended = None
while time.monotonic() < deadline:
    if select.select([master], [], [], 0.02)[0]:
        output += os.read(master, 65536)
    elif ended is not None:
        break  # the command is gone and everything it wrote is read
    if ended is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        ended = status if done else None
    if steps and steps[0]["expect"].encode() in output[seen:]:
        step = steps.pop(0)
        seen = len(output)
        if "send" in step:
            os.write(master, step["send"].encode())
        if "resize" in step:
            resize(slave, *step["resize"])
            os.kill(pid, signal.SIGWINCH)
        if "signal" in step:
            os.kill(pid, getattr(signal, step["signal"]))
if ended is None:
    os.kill(pid, signal.SIGKILL)
    _, ended = os.waitpid(pid, 0)
json.dump(
    {
        "status": os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else None,
        "signal": os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else None,
        "output": output.decode("utf-8", "replace"),
        "restored": termios.tcgetattr(slave) == before,
        "failed": steps[0]["expect"] if steps else None,
    },
    sys.stdout,
)
