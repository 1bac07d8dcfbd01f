//! The churn workload over the C library's malloc.
#[global_allocator]
static ALLOC: std::alloc::System = std::alloc::System;

mod churn;

fn main() {
    churn::main();
}
