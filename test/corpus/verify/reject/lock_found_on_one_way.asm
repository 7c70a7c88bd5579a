# SPDX-License-Identifier: MIT
# The lock of the variables themselves, and, on one way, as a look-up finds it.
# expect: reject unlock_other 21
stw [%r10-4], 0
ldxw %r7, [%r1+28]
jeq %r7, 3, found
lddw map_value %r1, @data, 0
call 93
ja s
found:
lddw map %r1, @data
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r1, %r0 # near: lddw map_value %r1, @data, 0
call 93
s:
mov %r7, 0
mov %r0, 0
mov %r1, 0
mov %r2, 0
lddw map_value %r1, @data, 0
call 94
out:
mov %r0, 0
exit
