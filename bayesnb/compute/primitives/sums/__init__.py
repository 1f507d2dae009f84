"""Class sums, the one primitive of fitting: sum over rows n of z_nk · t(x_n), with z the labels times the weights.

Families use it without knowing how it is implemented; ``DeviceSums`` describes its methods. On the host a compiled loop
reads a block of rows once and adds each row to its class; on a device integer labels are a segment sum. Counts do not
saturate: float64 on the host, int32 on the device if rows are unweighted, pairwise float32 sums otherwise.
"""

from __future__ import annotations

from typing import TypeAlias

from bayesnb.compute.arrays._placement import on_host
from bayesnb.compute.primitives.sums._device import DeviceSums
from bayesnb.compute.primitives.sums._host import PROVABLE as PROVABLE
from bayesnb.compute.primitives.sums._host import HostSums as HostSums
from bayesnb.compute.primitives.sums._host import Labels as Labels

ClassSums: TypeAlias = HostSums | DeviceSums
"""The sums by class that families use."""


def class_sums(labels: Labels, num_classes: int) -> ClassSums:
    """The implementation for these labels: the host's or the device's."""
    return (HostSums if on_host(labels) else DeviceSums)(labels, num_classes)
