# SPDX-License-Identifier: MIT
# expect: reject nullable 13
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r6, %r0 # near: mov %r6, %r10
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jne %r0, %r6, out
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
