# SPDX-License-Identifier: MIT
# golden
# Where the host's memory lies decides whether this pointer is NULL.
# expect: reject not_pointer 13
find @counts, 1
mov32 %r7, %r0
jgt %r7, 0x1ffffffe, out
sub %r0, %r7 # near: add %r0, 8
jne %r0, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
