# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 4
# A number and that number plus 1 are linked, but they are not equal.
ldxdw %r1, [%r1]
mov %r2, %r1
add %r2, 1 # near: add %r2, 0
jeq %r1, %r2, same
ldxdw %r0, [%r10-8]
same:
mov %r0, 0
exit
