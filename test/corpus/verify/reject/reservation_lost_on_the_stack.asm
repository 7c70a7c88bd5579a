# SPDX-License-Identifier: MIT
# expect: reject reference_leak 9
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
stxdw [%r10-8], %r0
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
stdw [%r10-8], 0
mov %r0, 0
exit
out:
mov %r0, 0
exit
