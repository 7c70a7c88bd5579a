# SPDX-License-Identifier: MIT
# r0 was never written in the callback.
# expect: reject uninit 9
mov %r0, 0
mov %r1, 3
bpf_loop cb
mov %r0, 0
exit
cb:
# near: mov %r0, 0
exit
