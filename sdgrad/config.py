"""Settings of the library: one small object, :data:`config`.

Each setting is an attribute, checked when it is assigned, and has an environment variable that gives its
value at the start: ``SDGRAD_BLAS=none python program.py`` is ``sdgrad.config.blas = "none"`` in the first
line. ``print(sdgrad.config)`` shows all of them.

Threads are not a setting. DaCe's parallel maps take ``OMP_NUM_THREADS`` and OpenBLAS takes
``OPENBLAS_NUM_THREADS``, both read when the process starts; :func:`sdgrad.runtime.libraries.blas.set_blas_threads`
changes the second one later.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, get_args

from dace.config import Config as DaceConfig
from dace.config import temporary_config

from sdgrad.machine.limits import Limit
from sdgrad.machine.model import Machine
from sdgrad.machine.processor import processor
from sdgrad.machine.rates import of_this_machine

PREFIX = "SDGRAD_"
BlasKind = Literal["openblas", "mkl", "none"]
DeviceKind = Literal["cpu", "gpu"]
VerifyKind = Literal["auto", "always", "never"]
_switches: tuple[str, ...] = ()
_watchers: dict[str, Callable[[Any], None]] = {}
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class ConfigError(ValueError, AttributeError):
    """A setting that does not exist, or a value it cannot have."""


@dataclass
class Config:
    """The settings. Assign an attribute to change one; use :meth:`override` to change some for a while."""

    blas: BlasKind = "openblas"
    """Where matrix products and factorizations go: ``"openblas"``, from the wheel scipy-openblas32,
    ``"mkl"``, an Intel MKL that DaCe finds, or ``"none"``, DaCe's plain loops."""

    optimization_level: int = 3
    """The ``-O`` level at which generated code is compiled, 0 to 3. Low levels compile sooner and run
    slower."""

    cache_dir: Path | None = None
    """The folder of compiled programs. None stands for ``sdgrad`` in the user's cache folder
    (``XDG_CACHE_HOME``, or ``~/.cache``); see :attr:`cache_folder`."""

    disk_folder: Path | None = None
    """The folder of the files in which states of loops lie (``disk_limit=``). None stands for ``TMPDIR``, or
    ``/var/tmp``."""

    debug: bool = False
    """Compile generated code with debug information and with its assertions, and show whole tracebacks."""

    progress: bool = True
    """Say in a line what is being made of a function once that takes more than two seconds, in a terminal."""

    verify: VerifyKind = "auto"
    """Compare the results of the first call of a function, for each kind of arguments, with what Python and NumPy
    compute, and raise :class:`~sdgrad.errors.VerificationError` if they differ: ``"auto"``, where that takes less than
    a second or so, ``"always"``, however long it takes, or ``"never"``."""

    check_indices: bool = True
    """Look before each call whether what index arrays among the inputs hold lies inside of the arrays that they index,
    and raise ``IndexError`` as NumPy does. Otherwise memory outside is read, or written."""

    eigenvalue_broadening: float = 0.0
    """What is added to the square of the difference ``d`` of two eigenvalues, or of two squares of singular values, in
    derivatives of their vectors: ``d / (d**2 + eigenvalue_broadening)`` in place of ``1 / d``. With 0 derivatives are
    exact, and none where values are equal; with 1e-12 they are finite there, without the part of the vectors that turn
    among each other: a choice, and no derivative of what depends on that part."""

    checked: bool = False
    """Find changes of arrays between a forward call and the backward calls that use its tape."""

    device: DeviceKind = "cpu"
    """Where programs run that are made from now on: ``"cpu"``, or ``"gpu"``, an NVIDIA GPU, by CUDA. They are compiled
    by ``nvcc``; what a library computes on the host is copied there and back."""

    without: tuple[str, ...] = ()
    """Passes to leave out, of :data:`sdgrad.pipeline.SWITCHES`, in functions that are differentiated from now on: to
    find out what each is worth, or which one is to blame. In the environment a list with commas."""

    machine: Machine = Machine()
    """Thresholds: from which size on each rewrite pays, and rates, measured once if ``sdgrad prepare`` has run.
    Replace it as a whole: ``config.machine = dataclasses.replace(config.machine, blas_multiplications=0)``."""

    def __setattr__(self, name: str, value: Any) -> None:
        value = self._checked(name, value)
        if name in _watchers:
            _watchers[name](value)
        object.__setattr__(self, name, value)

    @classmethod
    def _checked(cls, name: str, value: Any) -> Any:
        """The value of a setting in its own type, or an error that says what it can be."""
        if name not in (names := [f.name for f in fields(cls)]):
            raise ConfigError(f"no setting {name!r}{_nearest(name, names)}; there are {', '.join(names)}")
        return _CHECKS[name](value)

    @property
    def cache_folder(self) -> Path:
        """The folder of programs that are compiled for this kind of processor, as an absolute path.

        It need not exist yet, and is a part of the folder that :attr:`cache_dir` says.
        """
        return self.cache_root / processor()

    @property
    def cache_root(self) -> Path:
        """The folder of compiled programs, as an absolute path: that of :attr:`cache_dir`, or the usual one."""
        if self.cache_dir is not None:
            return self.cache_dir.expanduser().absolute()
        if base := os.environ.get("XDG_CACHE_HOME"):
            return Path(base) / "sdgrad"
        try:
            return Path.home() / ".cache" / "sdgrad"
        except RuntimeError:  # a user of whom the system knows no home
            return Path("/.cache/sdgrad")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Config:
        """The defaults, with what the variables ``SDGRAD_...`` say. A variable that is nearly a setting is
        reported."""
        known = {PREFIX + f.name.upper(): f.name for f in fields(cls)}
        settings = cls()
        for variable, text in environment.items():
            if variable in known:
                try:
                    setattr(settings, known[variable], text)
                except ValueError as error:
                    raise ConfigError(f"environment variable {variable}: {error}") from None
            elif variable.startswith(PREFIX) and (near := _nearest(variable, list(known))):
                warnings.warn(f"environment variable {variable} sets nothing{near}", stacklevel=2)
        return settings

    @contextlib.contextmanager
    def override(self, **settings: Any) -> Iterator[Config]:
        """Settings for the length of a ``with`` block: ``with config.override(blas="none"): ...``"""
        checked = {name: self._checked(name, value) for name, value in settings.items()}
        before = {name: getattr(self, name) for name in checked}
        try:
            for name, value in checked.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    @contextlib.contextmanager
    def compiling(self) -> Iterator[None]:
        """DaCe's own configuration as these settings want it, for the length of a compilation."""
        with temporary_config():
            arguments = DaceConfig.get("compiler", "cpu", "args")
            if self.optimization_level < 3 or self.debug:
                # DaCe's build types fix the level, so name none of them and say the flags. Without NDEBUG,
                # asserts run.
                defines = " -g" if self.debug else " -DNDEBUG"
                DaceConfig.set("compiler", "build_type", value="None")
                DaceConfig.set("compiler", "cpu", "args", value=f"{arguments} -O{self.optimization_level}{defines}")
            DaceConfig.set("default_build_folder", value=str(self.cache_folder))
            DaceConfig.set("compiler", "lineinfo", value="none")  # expansions would look theirs up on the stack
            DaceConfig.set("compiler", "unique_functions", value="none")  # or nested graphs are hashed
            DaceConfig.set("progress", value=False)  # a line of ours says what takes long
            DaceConfig.set("store_history", value=False)  # a copy of the graph before the first expansion
            DaceConfig.set("optimizer", "detect_control_flow", value=False)  # what is compiled here has its structure
            yield


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _choice(name: str, kinds: Sequence[str]) -> Callable[[Any], Any]:
    """Return the check of a setting that is one of some words."""

    def check(value: Any) -> str:
        for kind in kinds:
            if isinstance(value, str) and value.lower() == kind:
                return kind
        near = _nearest(value.lower(), list(kinds)) if isinstance(value, str) else ""
        raise ConfigError(f"{name} is one of {', '.join(map(repr, kinds))}, not {value!r}{near}")

    return check


def _check_level(value: Any) -> int:
    if isinstance(value, bool) or str(value) not in ("0", "1", "2", "3"):
        raise ConfigError(f"optimization_level is 0, 1, 2 or 3, not {value!r}")
    return int(value)


def _folder(name: str) -> Callable[[Any], Any]:
    """Return the check of a setting that is a folder or None."""

    def check(value: Any) -> Path | None:
        if value is None or value == "":
            return None
        if not isinstance(value, (str, os.PathLike)):
            raise ConfigError(f"{name} is a path or None, not {value!r}")
        path = Path(value)
        if path.expanduser().exists() and not path.expanduser().is_dir():
            raise ConfigError(f"{name} is a folder, and {path} is a file")
        return path

    return check


def _check_flag(value: Any) -> bool:
    text = str(value).lower()
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ConfigError(f"a flag is one of {', '.join(_TRUE + _FALSE)}, not {value!r}")


def _check_broadening(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    if isinstance(value, bool) or not 0.0 <= found < float("inf"):
        raise ConfigError(f"eigenvalue_broadening is a number that is not negative, not {value!r}")
    return found


def _check_passes(value: Any) -> tuple[str, ...]:
    names = [n.strip() for n in value.split(",") if n.strip()] if isinstance(value, str) else list(value)
    for name in names if _switches else ():  # the environment is read before there is a pass
        if name not in _switches:
            near = _nearest(str(name), list(_switches))
            raise ConfigError(f"no pass {name!r}{near}; there are {', '.join(_switches)}")
    return tuple(sorted(set(names)))


def _check_machine(value: Any) -> Machine:
    if not isinstance(value, Machine):
        raise ConfigError(f"machine is a sdgrad.machine.Machine, not {value!r}; change one with dataclasses.replace")
    return value


_CHECKS = {
    "blas": _choice("blas", get_args(BlasKind)),
    "optimization_level": _check_level,
    "cache_dir": _folder("cache_dir"),
    "disk_folder": _folder("disk_folder"),
    "debug": _check_flag,
    "progress": _check_flag,
    "device": _choice("device", get_args(DeviceKind)),
    "verify": _choice("verify", get_args(VerifyKind)),
    "check_indices": _check_flag,
    "eigenvalue_broadening": _check_broadening,
    "checked": _check_flag,
    "without": _check_passes,
    "machine": _check_machine,
}

config = Config.from_environment()
"""The settings in force."""
config.machine = of_this_machine(config.cache_folder)


def watch(name: str, then: Callable[[Any], None]) -> None:
    """Call ``then`` with the value of a setting now, and with each new value before it is set.

    What ``then`` raises is raised by the assignment, and the setting keeps its value.
    """
    _watchers[name] = then
    then(getattr(config, name))


def declare_switches(names: Sequence[str]) -> None:
    """Say which passes ``config.without`` may name.

    :raises ConfigError: it names another one already, from the environment.
    """
    global _switches
    _switches = tuple(names)
    config.without = config.without


_own = threading.local()


def device() -> DeviceKind:
    """Where programs run that this thread makes."""
    return getattr(_own, "device", None) or config.device


@contextlib.contextmanager
def on_device(where: DeviceKind | None) -> Iterator[None]:
    """Programs that this thread makes inside run there; None leaves it as it is.

    :raises ConfigError: there is no such device.
    """
    before = getattr(_own, "device", None)
    _own.device = before if where is None else _CHECKS["device"](where)
    try:
        yield
    finally:
        _own.device = before


def memory_limit() -> Limit | None:
    """Return what programs may take that this thread makes, unless they have a limit of their own."""
    return getattr(_own, "limit", None)


@contextlib.contextmanager
def in_memory_of(limit: Limit | None) -> Iterator[None]:
    """Programs that this thread makes inside take no more memory; None leaves it as it is."""
    before = memory_limit()
    _own.limit = before if limit is None else limit
    try:
        yield
    finally:
        _own.limit = before
