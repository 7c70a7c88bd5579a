# SPDX-License-Identifier: MIT
# expect: reject pointer_range 9
find @counts
ldxdw %r1, [%r0] # near: ldxw %r1, [%r0]
jgt32 %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
