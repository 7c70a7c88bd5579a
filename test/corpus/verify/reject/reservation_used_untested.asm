# SPDX-License-Identifier: MIT
# expect: reject nullable 5
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
stdw [%r0], 1
mov %r1, %r0
mov %r2, 0
call 132
mov %r0, 0
exit
