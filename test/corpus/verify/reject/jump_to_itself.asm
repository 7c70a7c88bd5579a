# SPDX-License-Identifier: MIT
# expect: reject endless_loop 0
ja -1
