//! What became of the blocks, and what of the peak nobody read again, for the full timeline.
use alloc_timeline::{
    Analysis, Bucket, Category, Coverage, Fate, Figures, Flow, Growth, GrowthOwner, Histogram, Place, RetainedAt, Sums,
    Unread, UnreadRow,
};

/// Three blocks: one of 64 bytes that is held, one of 128 that was freed where it was made, one of 128 that went
/// elsewhere; the last had been 160 bytes long.
pub fn analysis() -> Analysis {
    let place = |phase: &str, layer: &str| Place { phase: phase.into(), layer: layer.into() };
    let forward = || place("forward", "layer1.0.conv1");
    let sums = |usable_bytes, requested_bytes, blocks| Sums { usable_bytes, requested_bytes, blocks };
    let flow = |from, fate, to, category, usable_bytes, requested_bytes| Flow {
        from: Some(from),
        fate,
        to,
        category,
        usable_bytes,
        requested_bytes,
        blocks: 1,
    };
    let figures = |phase: Option<&str>, layer: Option<&str>, retained_at| Figures {
        phase: phase.map(str::to_owned),
        layer: layer.map(str::to_owned),
        peak_bytes: 128,
        peak_requested_bytes: 100,
        peak_ns: 9,
        process_bytes: 192,
        process_by_phase: [("forward".to_owned(), 128), ("(none)".to_owned(), 64)].into(),
        process_by_category: [("activation".to_owned(), 128), ("runtime".to_owned(), 64)].into(),
        retained_bytes: 28,
        retained_at,
        largest_block_bytes: 128,
    };
    Analysis {
        time_ns: 14,
        coverage: Coverage { blocks: 3, bytes: 352, shrunk_bytes: 32, all_blocks: 5, all_bytes: 500 },
        figures: vec![
            figures(Some("forward"), None, RetainedAt::PhaseEnd),
            figures(None, Some("layer1.0.conv1"), RetainedAt::StepEnd),
            figures(Some("forward"), Some("layer1.0.conv1"), RetainedAt::Now),
        ],
        flows: vec![
            flow(forward(), Fate::Temporary, Some(forward()), Category::Activation, 128, 100),
            flow(forward(), Fate::Freed, Some(place("backward", "layer1.0.conv1")), Category::Activation, 128, 101),
            flow(place("", ""), Fate::Held, None, Category::Runtime, 64, 50),
        ],
        histograms: vec![
            Histogram {
                category: Category::Activation,
                sizes: vec![Bucket { from: 128, sums: sums(256, 201, 2) }],
                lifetimes: vec![
                    Bucket { from: 0, sums: sums(128, 100, 1) },
                    Bucket { from: 2, sums: sums(128, 101, 1) },
                ],
                held: Sums::default(),
            },
            Histogram {
                category: Category::Runtime,
                sizes: vec![Bucket { from: 64, sums: sums(64, 50, 1) }],
                lifetimes: Vec::new(),
                held: sums(64, 50, 1),
            },
        ],
        growth: Growth {
            steps: vec![1, 2],
            live_bytes: vec![64, 192],
            owners: vec![GrowthOwner { scope: 1, category: Category::Activation, live_bytes: vec![0, 128] }],
            other_bytes: vec![64, 64],
        },
    }
}

/// Of the 192 bytes at the peak 100 are read later, 20 are workspace, 52 nobody reads again, and 20 are no storages.
pub fn unread() -> Unread {
    let sums = |usable_bytes, blocks| Sums { usable_bytes, requested_bytes: usable_bytes - blocks, blocks };
    let freed = UnreadRow {
        made_in: Some(1),
        category: Category::Activation,
        read_in: Some(1),
        read_ns: Some(8),
        reads: 3,
        freed: true,
        freed_in: Some(0),
        freed_ns: Some(12),
        sums: sums(40, 2),
    };
    let held = UnreadRow {
        made_in: None,
        category: Category::Parameter,
        read_in: None,
        read_ns: None,
        reads: 0,
        freed: false,
        freed_in: None,
        freed_ns: None,
        sums: sums(12, 1),
    };
    Unread {
        time_ns: 9,
        live_bytes: 192,
        read_later: sums(100, 1),
        workspace: sums(20, 1),
        unread: sums(52, 3),
        unknown_bytes: 20,
        prompt_peak_bytes: 160,
        prompt_peak_ns: 7,
        rows: vec![freed, held],
    }
}
