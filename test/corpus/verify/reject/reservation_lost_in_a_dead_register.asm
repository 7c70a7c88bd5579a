# SPDX-License-Identifier: MIT
# expect: reject reference_leak 6
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
mov %r0, 0
exit
