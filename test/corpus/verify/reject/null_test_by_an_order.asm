# SPDX-License-Identifier: MIT
# expect: reject nullable 8
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jge %r0, 0, use # near: jne %r0, 0, use
ja out
use:
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
