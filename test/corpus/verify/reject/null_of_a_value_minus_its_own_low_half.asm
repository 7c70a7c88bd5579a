# SPDX-License-Identifier: MIT
# golden
# Where the host's memory lies decides whether this pointer is NULL.
# expect: reject not_pointer 13
stw [%r10-4], 1
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov32 %r7, %r0
jgt %r7, 0x1ffffffe, out
sub %r0, %r7 # near: add %r0, 8
jne %r0, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
out:
mov %r0, 0
exit
