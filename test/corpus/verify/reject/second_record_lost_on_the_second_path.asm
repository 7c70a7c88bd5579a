# SPDX-License-Identifier: MIT
# golden
# Both paths hold the first record where they meet; one holds a second that no
# register has.
# expect: reject reference_leak 14
# opts: held
mov %r7, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
ldxw %r2, [%r7+32]
jgt %r2, 4, more
submit:
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
more:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
# near: jeq %r0, 0, submit
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
ja submit
