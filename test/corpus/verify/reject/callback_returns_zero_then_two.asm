# SPDX-License-Identifier: MIT
# It returns 0, then 2.
# expect: reject callback_return 10
mov %r1, 10
bpf_loop cb
mov %r0, 0
exit
cb:
mov %r0, %r1
lsh %r0, 1 # near: lsh %r0, 0
exit
