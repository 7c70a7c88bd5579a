# SPDX-License-Identifier: MIT
# expect: reject endless_loop 0
ja -1 # near: mov %r0, 0
# near: exit
