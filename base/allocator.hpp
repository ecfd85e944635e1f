#pragma once

namespace base {

/// Configures malloc for a process with many threads: a small fixed number of arenas instead of one per thread, and
/// large blocks are returned to the system when they are freed. Call before the first thread starts.
void configure_allocator();

/// Returns free memory to the system. Other threads that allocate meanwhile may block for tens of milliseconds.
void return_free_memory();

}  // namespace base
