"""An emulated Windows for graphstore and for users' rules; libraries still see Linux.

Modules whose names begin with ``graphstore`` see no POSIX-only module or name. In the whole
process, an open file cannot be replaced or removed, no folder with an open file can be renamed, and
`os.rename` replaces nothing. A file counts as open if this process or its parent has it open.
"""

import builtins
import importlib
import os
import sys
from contextlib import suppress
from types import ModuleType

MODULES = {
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
}
NAMES = {
    "os": "chown fchmod fchown fdatasync fork forkpty fstatvfs getegid geteuid getgid getgroups"
    " getloadavg getpgid getuid killpg lchown mkfifo mknod nice openpty posix_fadvise posix_spawn"
    " pread pwrite register_at_fork sched_getaffinity sendfile setpriority setsid statvfs sync"
    " sysconf uname wait waitid PRIO_PROCESS O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK WNOHANG",
    "select": "epoll poll",
    "shutil": "chown",
    "signal": "alarm getitimer pause pthread_kill pthread_sigmask setitimer sigpending sigwait"
    " ITIMER_PROF ITIMER_REAL SIG_BLOCK SIG_UNBLOCK SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL"
    " SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGXCPU SIGXFSZ",
    "socket": "AF_UNIX recv_fds send_fds",
    "sys": "",
    "time": "clock_gettime CLOCK_MONOTONIC tzset",
}
BUSY = 32  # the error code of Windows for a file that is open: ERROR_SHARING_VIOLATION


class View(ModuleType):
    """A module as graphstore sees it: without some names, or with others."""

    def __init__(self, module, gone, changed):
        vars(self).update(changed, _module=module, _gone=set(gone.split()))

    def __getattr__(self, name):
        if name in self._gone:
            raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}")
        return getattr(self._module, name)

    def __setattr__(self, name, value):
        setattr(self._module, name, value)


def refuse(path, *, if_inside=False):
    """Raise the error of Windows if a file, or with `if_inside` one in a folder, is open."""
    path, opened = os.path.realpath(path), set()
    for process in ("self", os.getppid()):
        with suppress(OSError), open(f"/proc/{process}/maps", encoding="utf-8") as lines:
            opened |= {line[line.index("/") :].rstrip("\n") for line in lines if "/" in line}
            for each in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    opened.add(os.readlink(f"/proc/{process}/fd/{each}"))
    if path in opened or (if_inside and any(each.startswith(f"{path}/") for each in opened)):
        error = PermissionError(13, "The process cannot access the file", path)
        error.winerror = BUSY
        raise error


def pretend():
    """Begin the emulation; call it before graphstore is imported."""
    rename_, replace_, unlink_, open_ = os.rename, os.replace, os.unlink, os.open

    def rename(source, target, **how):
        if os.path.lexists(target):
            raise FileExistsError(17, "Cannot create a file when that file already exists", target)
        refuse(source, if_inside=True)
        rename_(source, target, **how)

    def replace(source, target, **how):
        if os.path.isdir(target):
            raise PermissionError(13, "Access is denied", target)
        refuse(target)
        refuse(source, if_inside=True)
        replace_(source, target, **how)

    def unlink(path, *, dir_fd=None):
        refuse(path if dir_fd is None else f"{os.readlink(f'/proc/self/fd/{dir_fd}')}/{path}")
        unlink_(path, dir_fd=dir_fd)

    def open_file(path, flags, *rest, **how):
        if os.path.isdir(path):
            raise PermissionError(13, "Access is denied", path)
        return open_(path, flags, *rest, **how)

    os.rename, os.replace, os.unlink, os.remove = rename, replace, unlink, unlink
    changed = {"os": {"name": "nt", "open": open_file}, "sys": {"platform": "win32"}}
    views = {
        name: View(importlib.import_module(name), gone, changed.get(name, {}))
        for name, gone in NAMES.items()
    }
    import_ = builtins.__import__

    def importing(name, scope=None, *rest, **more):
        if not str((scope or {}).get("__name__")).startswith("graphstore"):
            return import_(name, scope, *rest, **more)
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return views.get(name) or import_(name, scope, *rest, **more)

    builtins.__import__ = importing
    assert sys.platform == "linux"
