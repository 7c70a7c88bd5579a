# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 1
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov32 %r7, %r0
jgt %r7, 0x1ffffffe, out
sub %r0, %r7
jne %r0, 0, out
mov %r0, 1
exit
out:
mov %r0, 0
exit
