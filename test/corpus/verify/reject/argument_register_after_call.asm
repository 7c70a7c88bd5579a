# SPDX-License-Identifier: MIT
# expect: reject uninit 1
# near: mov %r6, %r1
call 5
mov %r0, %r1 # near: ldxdw %r0, [%r6]
exit
