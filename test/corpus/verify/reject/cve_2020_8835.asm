# SPDX-License-Identifier: MIT
# golden
# a test of the low half tells nothing of the high half
# expect: reject pointer_range 10
find @counts
ldxdw %r1, [%r0]
jge32 %r1, 2, out # near: jge32 %r1, 1, out
jne32 %r1, 1, out
add %r0, %r1
ldxb %r2, [%r0]
