# SPDX-License-Identifier: MIT
# expect: reject reference_leak 8
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
stdw [%r0], 1
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
mov %r0, 0
exit
out:
mov %r0, 0
exit
