# SPDX-License-Identifier: MIT
# expect: reject not_pointer 13
lddw map %r1, @seen
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 164
mov %r0, 0
exit
cb:
add %r2, 16 # near: add %r2, 8
jne %r2, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
out:
mov %r0, 0
exit
