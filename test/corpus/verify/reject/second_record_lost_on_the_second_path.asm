# SPDX-License-Identifier: MIT
# golden
# Both paths hold the first record where they meet; one holds a second that no
# register has.
# expect: reject reference_leak 14
mov %r7, %r1
reserve 16
jeq %r0, 0, out
mov %r6, %r0
ldxw %r2, [%r7+32]
jgt %r2, 4, more
submit:
submit %r6
out:
mov %r0, 0
exit
more:
reserve 16
# near: jeq %r0, 0, submit
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
ja submit
