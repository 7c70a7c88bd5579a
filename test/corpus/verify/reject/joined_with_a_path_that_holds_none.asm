# SPDX-License-Identifier: MIT
# expect: reject reference_leak 13
mov %r6, %r1
mov %r7, 0
ldxw %r8, [%r6+32]
jgt %r8, 4, join
reserve 16
mov %r7, %r0
# near: jeq %r7, 0, join
# near: mov %r1, %r7
# near: mov %r2, 0
# near: call 132
mov %r0, 0
join:
mov %r0, 0
ja on
on:
exit
