# SPDX-License-Identifier: MIT
# expect: reject reference_leak 8
reserve 16
jeq %r0, 0, out
stdw [%r0], 1
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
mov %r0, 0
exit
