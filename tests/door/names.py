"""The names that looks at values use, beside Python's own."""

from __future__ import annotations

import array  # noqa: F401
import ast  # noqa: F401
import asyncio  # noqa: F401
import base64  # noqa: F401
import binascii  # noqa: F401
import bisect  # noqa: F401
import cmath  # noqa: F401
import collections.abc  # noqa: F401
import colorsys  # noqa: F401
import contextlib  # noqa: F401
import contextvars  # noqa: F401
import copy  # noqa: F401
import csv  # noqa: F401
import ctypes  # noqa: F401
import dataclasses
import datetime  # noqa: F401
import decimal  # noqa: F401
import enum
import fractions  # noqa: F401
import functools
import gc  # noqa: F401
import hashlib  # noqa: F401
import heapq  # noqa: F401
import inspect  # noqa: F401
import io  # noqa: F401
import itertools
import json  # noqa: F401
import marshal  # noqa: F401
import math  # noqa: F401
import numbers  # noqa: F401
import operator  # noqa: F401
import os  # noqa: F401
import pickle  # noqa: F401
import pprint  # noqa: F401
import queue  # noqa: F401
import random  # noqa: F401
import re  # noqa: F401
import reprlib  # noqa: F401
import statistics  # noqa: F401
import string  # noqa: F401
import struct  # noqa: F401
import sys  # noqa: F401
import textwrap  # noqa: F401
import threading  # noqa: F401
import time  # noqa: F401
import types  # noqa: F401
import typing  # noqa: F401
import uuid  # noqa: F401
import warnings  # noqa: F401
import weakref  # noqa: F401
import zlib  # noqa: F401
from decimal import Decimal  # noqa: F401
from fractions import Fraction  # noqa: F401
from typing import Any

import numpy as np


@dataclasses.dataclass
class Point:
    v: Any


class Color(enum.Enum):
    RED = 2
    GREEN = 3


class Holder:
    def __init__(self, v: Any = None) -> None:
        self.v = v


class Reader(Holder):
    """What a method and a property see."""

    def read(self) -> Any:
        return self.v, type(self.v).__name__, self.v * 2

    @property
    def seen(self) -> Any:
        return self.v

    __call__ = read


class Indexed:
    def __getitem__(self, key: Any) -> Any:
        return key, type(key).__name__


class Added:
    def __add__(self, other: Any) -> Any:
        return "added", other

    def __radd__(self, other: Any) -> Any:
        return "added to", other


class Called:
    def __call__(self, *args: Any) -> Any:
        return args, len(args)


class Listed(list):
    def first(self) -> Any:
        return self[0]


@functools.lru_cache
def cached(v: Any) -> Any:
    return v


@functools.singledispatch
def overloaded(v: Any) -> str:
    return "object"


@overloaded.register
def _(v: int) -> str:
    return "int"


@overloaded.register
def _(v: float) -> str:
    return "float"


@overloaded.register
def _(v: np.ndarray) -> str:
    return "array"


def shown(v: Any) -> Any:
    """What a call gave, as something that can be compared: the first items of an iterator, what an exception says."""
    if isinstance(v, BaseException):
        return type(v).__name__, v.args
    if isinstance(v, type) or not hasattr(v, "__next__"):
        return v
    return list(itertools.islice(v, 4))


def kind_of(v: Any) -> str:
    """What people write to tell kinds of values apart."""
    if v is None:
        return "none"
    if isinstance(v, bool):
        return "bool"
    if isinstance(v, (int, np.integer)):
        return "integer"
    return "array" if hasattr(v, "__len__") else type(v).__name__
