# SPDX-License-Identifier: MIT
"""X-Ray from Python: measured facts of this machine, with confidence. Nothing to build: this file and libxray.so.0.

    import xray
    machine = xray.stored("cache.l1d", "cache.l2")      # measured once, then read
    block = machine.number("cache.l1d.capacity", 32768) // 3
    print(machine["cache.l2.capacity"])                 # Fact(value=1048576, status='ok', confidence=0.97, ...)
"""
import ctypes
import ctypes.util
import json
import os

__all__ = ["Error", "Fact", "Description", "measure", "stored", "read", "version"]


class Error(Exception):
    """What could not be done, in one line; code is the exit status the xray command would give."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 1024)]


class _Options(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in
                ("target", "cc", "cflags", "runner", "form", "keep", "cache", "tmp", "record")] + [
        ("cpu", ctypes.c_int), ("sample_ns", ctypes.c_double), ("baked", ctypes.c_bool), ("seed", ctypes.c_uint64), ("budget_s", ctypes.c_double), ("interrupt", ctypes.c_void_p)]


class _Plan(ctypes.Structure):
    _fields_ = [("select", ctypes.POINTER(ctypes.c_char_p)), ("n_select", ctypes.c_size_t), ("quick", ctypes.c_bool),
                ("budget_s", ctypes.c_double), ("progress", ctypes.c_void_p), ("self", ctypes.c_void_p),
                ("interrupt", ctypes.c_void_p), ("oracle", ctypes.c_int)]


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    for name in (os.environ.get("LIBXRAY"), os.path.join(here, "libxray.so.0"), "libxray.so.0"):
        if name:
            try:
                return ctypes.CDLL(name)
            except OSError:
                pass
    raise ImportError("libxray.so.0 is not installed; LIBXRAY may name it")


_lib = _load()
_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]
_lib.xr_version.restype = ctypes.c_char_p
_lib.xr_session_open.restype = ctypes.c_void_p
_lib.xr_session_open.argtypes = [ctypes.POINTER(_Options), ctypes.POINTER(_Error)]
_lib.xr_session_free.argtypes = [ctypes.c_void_p]
_lib.xr_session_measure.restype = ctypes.c_void_p
_lib.xr_session_measure.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Plan), ctypes.c_void_p, ctypes.POINTER(_Error)]
_lib.xr_description_read.restype = ctypes.c_void_p
_lib.xr_description_read.argtypes = [ctypes.c_char_p, ctypes.POINTER(_Error)]
_lib.xr_description_stored.restype = ctypes.c_void_p
_lib.xr_description_stored.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.POINTER(_Options),
                                       ctypes.POINTER(_Plan), ctypes.POINTER(_Error)]
_lib.xr_description_text.restype = ctypes.c_void_p
_lib.xr_description_text.argtypes = [ctypes.c_void_p]
_lib.xr_description_free.argtypes = [ctypes.c_void_p]


class Fact:
    """One answer. value is a number, bool, text, list or dict; None when there is none."""

    def __init__(self, id, members):
        self.id = id
        self.status = members["status"]
        self.value = members.get("value")
        self.unit = members.get("unit", "")
        self.confidence = members.get("confidence", 0.0)
        self.method = members.get("method", "")
        self.reason = members.get("reason", "")
        self.claimed = members.get("claimed")
        self.series = members.get("series", [])

    @property
    def ok(self):
        return self.status == "ok"

    def __repr__(self):
        return "Fact(id=%r, value=%r, unit=%r, status=%r, confidence=%.2f)" % (
            self.id, self.value, self.unit, self.status, self.confidence)


class Description(dict):
    """Facts by id; series, target and the whole JSON beside them."""

    def __init__(self, text):
        self.json = json.loads(text)
        super().__init__((id, Fact(id, members)) for id, members in self.json["facts"].items())
        self.series = self.json.get("series", {})
        self.target = self.json.get("target", {})

    def number(self, id, otherwise=None):
        """The number of an ok fact, else `otherwise`."""
        fact = self.get(id)
        usable = fact is not None and fact.ok and isinstance(fact.value, (int, float))
        return fact.value if usable else otherwise


def _options(options):
    o = _Options(cpu=-1)
    for name, value in options.items():
        setattr(o, name, value.encode() if isinstance(value, str) else value)
    return o


def _plan(select, quick, budget):
    words = (ctypes.c_char_p * len(select))(*[word.encode() for word in select])
    plan = _Plan(n_select=len(select), quick=quick, budget_s=budget)
    plan.select = ctypes.cast(words, ctypes.POINTER(ctypes.c_char_p))
    plan.words = words  # lives as long as the plan
    return plan


def _take(pointer, error):
    if not pointer:
        raise Error(error.code, error.text.decode(errors="replace"))
    text = _lib.xr_description_text(pointer)
    _lib.xr_description_free(pointer)
    if not text:
        raise MemoryError("no room for the description")
    try:
        return Description(ctypes.string_at(text).decode())
    finally:
        _libc.free(text)


def measure(*select, quick=False, budget=0.0, **options):
    """Measure these facts (all without any); options as in struct xr_options: target, cc, cflags, cpu, seed, ..."""
    error = _Error()
    session = _lib.xr_session_open(ctypes.byref(_options(options)), ctypes.byref(error))
    if not session:
        raise Error(error.code, error.text.decode(errors="replace"))
    try:
        plan = _plan(select, quick, budget)
        return _take(_lib.xr_session_measure(session, ctypes.byref(plan), None, ctypes.byref(error)), error)
    finally:
        _lib.xr_session_free(session)


def stored(*select, directory=None, max_age=0.0, quick=False, budget=0.0, **options):
    """Measured once for this machine and read afterwards; max_age in seconds, 0: for ever."""
    if directory is None:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        os.makedirs(base, exist_ok=True)
        directory = os.path.join(base, "xray-machines")
    error = _Error()
    plan = _plan(select, quick, budget)
    return _take(_lib.xr_description_stored(os.fsencode(directory), max_age, ctypes.byref(_options(options)),
                                            ctypes.byref(plan), ctypes.byref(error)), error)


def read(path):
    """A description that `xray --json FILE` wrote."""
    error = _Error()
    return _take(_lib.xr_description_read(os.fsencode(path), ctypes.byref(error)), error)


def version():
    return _lib.xr_version().decode()
