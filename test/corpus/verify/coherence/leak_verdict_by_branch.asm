# SPDX-License-Identifier: MIT
# expect: reject local_verdict 4
# flow: branch
ldxw %r2, [%r1+64]
mov %r0, 0 # near: mov %r0, 1
jeq %r2, 0, e
mov %r0, 1
e:
exit
