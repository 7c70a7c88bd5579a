# SPDX-License-Identifier: MIT
# expect: reject uninit 9
reserve 16
jeq %r0, 0, out
submit %r0
# near: mov %r0, 0
exit
