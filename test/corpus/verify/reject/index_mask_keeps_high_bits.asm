# SPDX-License-Identifier: MIT
# expect: reject pointer_range 9
find @counts
ldxdw %r1, [%r0]
and %r1, -8 # near: and %r1, 63
add %r0, %r1
ldxb %r2, [%r0]
