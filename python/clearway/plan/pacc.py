"""PACC's fluid model: its loop in the frequency domain (sec. IV, eq. (4) to (16), and Appendix A).

Symbols and equation numbers are the paper's. scipy evaluates the response and finds the crossovers; only the delay,
which is no rational function, is put in here, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from clearway.plan.choices import Sign, Unit

Floats = npt.NDArray[np.float64]

#: Bytes in one unit of Q in eq. (2), which the paper leaves unstated (PACC-1).
UNITS: dict[Unit, int] = {"KB": 1000, "packets": 1500, "bytes": 1}


def alpha_star(tau: float = 1.0, timer: float = 300.0) -> float:
    """alpha* = sqrt(2 tau' / (3 T_i)), Appendix A, where 2 Delta R / R = 2/3 belongs inside the root (PACC-5).

    >>> round(alpha_star(), 5)
    0.04714
    """
    return math.sqrt(2 * tau / (3 * timer))


@dataclass(frozen=True)
class Margins:
    """The margins that the Bode diagram of a loop shows."""

    #: Frequency at which |G| = 1.
    crossover_rad_s: float
    #: Distance of the phase to -180 degrees there.
    phase_deg: float
    #: Frequency at which the phase passes -180 degrees from above, and the gain left there; NaN if it never does.
    phase_crossover_rad_s: float
    gain_db: float


@dataclass(frozen=True)
class Loop:
    """G(s) = -K (1 + s/z) e^(-2sT) / s^3 (16), or +K with ordinary negative feedback."""

    beta1: float = 0.05
    beta2: float = 0.1
    #: Capacity C of the port, bits per second.
    rate_bps: float = 25e9
    #: Period T of the switch, seconds.
    period_s: float = 80e-6
    #: Operating point alpha* of the senders.
    alpha: float = alpha_star()
    unit: Unit = "KB"
    sign: Sign = "printed"

    @property
    def capacity(self) -> float:
        """C, in units of Q per second."""
        return self.rate_bps / 8 / UNITS[self.unit]

    @property
    def gain(self) -> float:
        """K = C beta1 alpha* / (2 T^2), below (16)."""
        return self.capacity * self.beta1 * self.alpha / (2 * self.period_s**2)

    @property
    def zero(self) -> float:
        """Z = beta1 / ((beta2 + beta1/2) T), below (16), rad/s."""
        return self.beta1 / ((self.beta2 + self.beta1 / 2) * self.period_s)

    def rational(self, omega: Floats) -> npt.NDArray[np.complex128]:
        """G(j omega) without its delay."""
        from scipy.signal import freqs_zpk  # half a second to import: not for every command

        factor = -1 if self.sign == "printed" else 1
        _, response = freqs_zpk([-self.zero], [0.0, 0.0, 0.0], [factor * self.gain / self.zero], omega)
        return np.asarray(response, dtype=np.complex128)

    def magnitude(self, omega: Floats) -> Floats:
        """|G(j omega)|; the delay does not change it."""
        return np.abs(self.rational(omega))

    def phase_deg(self, omega: Floats) -> Floats:
        """Phase of G(j omega), not wrapped."""
        angle = np.degrees(np.angle(self.rational(omega)))
        # 1/s^3 starts at -270 degrees, which is told as +90.
        continuous = np.where(angle > 0, angle - 360, angle)
        return np.asarray(continuous - np.degrees(2 * omega * self.period_s), dtype=np.float64)

    def crossover(self) -> float:
        """The frequency at which |G| = 1, in rad/s."""
        # |G| is between 1 and sqrt(2) here, as both of its terms are at most 1, and falls from here on.
        low = max(self.gain ** (1 / 3), math.sqrt(self.gain / self.zero))
        return self._root(lambda omega: math.log(float(self.magnitude(np.array([omega]))[0])), low * 0.999, low * 1.5)

    def margins(self) -> Margins:
        """The crossovers of the loop and its margins there."""
        crossover = self.crossover()
        phase = 180 + float(self.phase_deg(np.array([crossover]))[0])
        if self.sign == "negative-feedback":  # its phase starts at -270 and never reaches -180
            return Margins(crossover, phase, math.nan, math.nan)
        at = self._root(
            lambda omega: 180 + float(self.phase_deg(np.array([omega]))[0]), 1e-6 / self.period_s, 4 / self.period_s
        )
        gain_db = -20 * math.log10(float(self.magnitude(np.array([at]))[0]))
        return Margins(crossover, phase, at, gain_db)

    def growth(self) -> float:
        """The positive real root of 1 + G(s) = 0 with the printed sign: a mode that grows by e every 1/root seconds.

        s^3 = K (1 + s/z) e^(-2sT): the left side starts below the right one and ends above it, so there always is one.
        """
        high = 2 * max(self.gain ** (1 / 3), math.sqrt(self.gain / self.zero))
        delay = 2 * self.period_s
        return self._root(
            lambda s: 3 * math.log(s) - math.log(self.gain) - math.log1p(s / self.zero) + s * delay, high * 1e-9, high
        )

    @staticmethod
    def _root(function: Callable[[float], float], low: float, high: float) -> float:
        from scipy.optimize import brentq

        return float(brentq(function, low, high, xtol=1e-9 * low, rtol=1e-12))


def closed_form_deg(loop: Loop, omega: float) -> float:
    """Phase margin by hand: 90 + atan(omega/z) - 2 omega T as printed, 180 less with negative feedback."""
    start = 90 if loop.sign == "printed" else -90
    return start + math.degrees(math.atan(omega / loop.zero) - 2 * omega * loop.period_s)


def margin_grid(loop: Loop, beta1: Iterable[float], beta2: Iterable[float]) -> Floats:
    """Fig. 5: the phase margin for every pair, a row per beta2."""
    first = list(beta1)
    return np.array([[replace(loop, beta1=b1, beta2=b2).margins().phase_deg for b1 in first] for b2 in beta2])
