# SPDX-License-Identifier: MIT
# expect: reject pointer_range 8
find @counts
ldxdw %r1, [%r0]
# near: jgt %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
