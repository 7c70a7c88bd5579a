# SPDX-License-Identifier: MIT
# expect: reject uninit 0
# near: mov %r0, 0
# golden
exit
