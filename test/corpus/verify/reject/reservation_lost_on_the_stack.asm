# SPDX-License-Identifier: MIT
# expect: reject reference_leak 9
reserve 16
jeq %r0, 0, out
stxdw [%r10-8], %r0
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
stdw [%r10-8], 0
mov %r0, 0
exit
