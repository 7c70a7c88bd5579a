# SPDX-License-Identifier: MIT
# expect: reject nullable 7
lookup @counts, 4
jeq32 %r0, 0, out # near: jeq %r0, 0, out
use:
ldxb %r1, [%r0]
