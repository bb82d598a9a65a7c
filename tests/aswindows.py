"""Show graphstore, and rules, an emulated Windows; its libraries still see Linux.

Modules whose names begin with ``graphstore`` see no POSIX-only module or name. In the whole
process, as on Windows, an open file cannot be renamed, replaced or removed, and neither can its
folder be renamed; a rename replaces nothing; a folder cannot be opened.
"""

import builtins
import importlib
import os
import signal
import sys
import time
from pathlib import Path
from types import ModuleType

MODULES = "crypt fcntl grp posix pty pwd readline resource select_poll syslog termios tty".split()
NAMES = {
    "os": "chown chroot fchmod fchown fork forkpty getegid geteuid getgid getgroups getloadavg getpgid"
    " getpriority getuid killpg lchown mkfifo mknod nice openpty pread preadv pwrite pwritev"
    " register_at_fork sched_getaffinity sched_yield setpriority setsid setuid setgid sysconf"
    " sysconf_names statvfs fstatvfs fchdir sync uname wait wait4 waitid ttyname tcgetpgrp confstr"
    " sendfile posix_fallocate posix_fadvise posix_spawn fdatasync O_NOFOLLOW O_DIRECTORY O_CLOEXEC"
    " O_NONBLOCK O_SYNC O_DSYNC PRIO_PROCESS P_PID WNOHANG EX_OK RTLD_NOW".split(),
    "signal": "setitimer getitimer alarm pause pthread_sigmask pthread_kill sigwait sigpending"
    " siginterrupt ITIMER_REAL ITIMER_PROF SIG_BLOCK SIG_UNBLOCK SIG_SETMASK SIGKILL SIGHUP SIGALRM"
    " SIGQUIT SIGUSR1 SIGUSR2 SIGPIPE SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGXFSZ SIGXCPU SIGBUS".split(),
    "socket": "AF_UNIX socketpair send_fds recv_fds".split(),
    "select": "poll epoll".split(),
    "time": "clock_gettime pthread_getcpuclockid tzset CLOCK_MONOTONIC".split(),
}  # fmt: skip
DELAY = 0.05  # seconds until a file that another program scans can be renamed


class View(ModuleType):
    """A module as graphstore sees it."""

    def __init__(self, module, gone=(), **changed):
        self.__dict__.update(changed, _module=module, _gone=frozenset(gone))

    def __getattr__(self, name):
        if name in self._gone:
            raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}")
        return getattr(self._module, name)

    def __setattr__(self, name, value):
        setattr(self._module, name, value)

    def __dir__(self):
        return sorted({*dir(self._module)} - self._gone)


def is_open(path, *, inside=False) -> bool:
    """Return whether this process or its parent has a file open or mapped."""
    path = os.path.realpath(os.fspath(path))
    found = set()
    for process in ("self", str(os.getppid())):
        try:
            for each in os.listdir(f"/proc/{process}/fd"):
                try:
                    found.add(os.readlink(f"/proc/{process}/fd/{each}"))
                except OSError:
                    pass
            with open(f"/proc/{process}/maps") as lines:
                found.update(line.rstrip("\n").split(None, 5)[5] for line in lines if "/" in line)
        except OSError:
            pass
    return path in found or (inside and any(each.startswith(f"{path}/") for each in found))


def refuse(path):
    error = PermissionError(13, "The process cannot access the file", os.fspath(path))
    error.winerror = 32
    raise error


def pretend():
    """Begin the emulation; call it before graphstore is imported."""
    real = {name: getattr(os, name) for name in ("rename", "replace", "unlink", "open")}
    bare = open

    def rename(source, target, **how):
        if os.path.lexists(target):
            raise FileExistsError(17, "Cannot create a file when that file exists", source, 183, target)
        if is_open(source, inside=True):
            refuse(source)
        real["rename"](source, target, **how)

    def replace(source, target, **how):
        if os.path.isdir(target) or is_open(target):
            refuse(target)
        if is_open(source, inside=True):
            refuse(source)
        real["replace"](source, target, **how)

    def unlink(path, *, dir_fd=None):
        if is_open(path if dir_fd is None else f"{os.readlink(f'/proc/self/fd/{dir_fd}')}/{path}"):
            refuse(path)
        real["unlink"](path, dir_fd=dir_fd)

    def open_(path, flags, *rest, **how):
        if isinstance(path, str | os.PathLike) and os.path.isdir(path) and not how:
            caller = sys._getframe(1).f_globals.get("__name__", "")
            if caller.startswith("graphstore"):
                refuse(path)
        return real["open"](path, flags, *rest, **how)

    assert bare, time
    views = {"sys": View(sys, platform="win32")}
    for name, gone in NAMES.items():
        changed = {"name": "nt"} if name == "os" else {}
        views[name] = View(importlib.import_module(name), gone, **changed)
    for name, function in {"rename": rename, "replace": replace, "unlink": unlink, "remove": unlink, "open": open_}.items():
        setattr(os, name, function)
    imported = builtins.__import__

    def import_(name, globals=None, locals=None, fromlist=(), level=0):
        module = imported(name, globals, locals, fromlist, level)
        if level or not str((globals or {}).get("__name__")).startswith("graphstore"):
            return module
        if name.partition(".")[0] in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return views.get(name, module)

    builtins.__import__ = import_
    exists = Path.exists

    def proc(self, **how):
        return not str(self).startswith("/proc") and exists(self, **how)

    Path.exists = proc
