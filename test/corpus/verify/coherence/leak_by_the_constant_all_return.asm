# SPDX-License-Identifier: MIT
# expect: reject local_verdict 4
# flow: branch
# A local branch chooses between two constants that meet before exit.
ldxw %r2, [%r1+64]
mov %r0, 2 # near: mov %r0, 1
jeq %r2, 0, join
mov %r0, 1
join:
exit
