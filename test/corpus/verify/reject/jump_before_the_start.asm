# SPDX-License-Identifier: MIT
# golden
# expect: reject jump_range 0
ja -3 # near: ja +0
mov %r0, 0
exit
