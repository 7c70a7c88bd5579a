# SPDX-License-Identifier: MIT
# expect: reject reference_leak 2
# opts: held
call local f
mov %r0, 0
exit
f:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
mov %r0, 0
exit
