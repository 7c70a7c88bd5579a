# SPDX-License-Identifier: MIT
# a compare of the low halves says nothing of the whole
# expect: reject pointer_range 9
find @counts
ldxdw %r1, [%r0]
jgt32 %r1, 7, out # near: jgt %r1, 7, out
add %r0, %r1
ldxb %r0, [%r0]
