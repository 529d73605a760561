"""Tests of H0: E[X] >= a for X in [0, 1]; rejecting one certifies E[X] < a, inverting it gives a bound."""

from surecut.bounds.base import MeanTest
from surecut.bounds.bentkus import BENTKUS
from surecut.bounds.binomial import BINOMIAL
from surecut.bounds.clt import CLT
from surecut.bounds.hedge import HEDGE
from surecut.bounds.hoeffding import HOEFFDING
from surecut.bounds.hoeffding_bentkus import HOEFFDING_BENTKUS
from surecut.bounds.wsr import WSR
from surecut.registry import Registry

__all__ = ["BINOMIAL", "HEDGE", "TESTS", "WSR", "MeanTest"]

TESTS = Registry("test", HEDGE, WSR, HOEFFDING, BENTKUS, HOEFFDING_BENTKUS, BINOMIAL, CLT)
