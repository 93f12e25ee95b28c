//! What parameters of MPI functions are.
//!
//! @generated from shim-gen/data/parameters.txt by `shim-gen parameters-kinds`.

/// What a parameter is, whatever its type. The word of an argument is a value; of an array, and of what a function writes,
/// it is the address of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A handle: `MPI_Comm`.
    Communicator,
    /// A handle: `MPI_Group`.
    Group,
    /// A handle: `MPI_Datatype`.
    Datatype,
    /// A handle: `MPI_Op`.
    Op,
    /// A handle: `MPI_Request`.
    Request,
    /// A handle: `MPI_Message`.
    Message,
    /// A handle: `MPI_Win`.
    Window,
    /// A handle: `MPI_File`.
    File,
    /// A handle: `MPI_Info`.
    Info,
    /// A handle: `MPI_Errhandler`.
    Errhandler,
    /// A handle: `MPI_Session`.
    Session,
    /// An `MPI_Status`, always by address.
    Status,
    /// A handle of the tool information interface (MPI_T), or an event.
    ToolHandle,
    /// A handle of an extension of one MPI.
    VendorHandle,
    /// The integer that Fortran, or the standard ABI, has for a handle.
    FortranHandle,
    /// A status as Fortran has it.
    FortranStatus,
    /// Fortran's .TRUE. or .FALSE., of a size that another parameter tells.
    FortranLogical,
    /// Data of the program that MPI reads or writes, described by counts and datatypes.
    Buffer,
    /// Memory of the program that MPI does not read or write as data: attached, freed, looked at.
    Memory,
    /// Where MPI stores the address of memory.
    MemoryPointer,
    /// The value of an attribute; of direction out, where it is stored.
    Attribute,
    /// A word that MPI hands to callbacks.
    State,
    /// The address of the handle that a variable of `MPI_T` is bound to.
    Object,
    /// A function of the program.
    Callback,
    /// Text that ends with a zero byte.
    String,
    /// An array of strings.
    Strings,
    /// An array of arrays of strings.
    StringLists,
    /// A number of elements of a datatype: what a transfer moves, and block lengths.
    Count,
    /// A number of elements of an array, or of characters.
    Length,
    /// A number of something else.
    Number,
    /// A number of bytes.
    Size,
    /// A distance in bytes between elements, or a bound.
    Extent,
    /// A distance from the start of a buffer or a window, in elements, bytes or units of the window.
    Displacement,
    /// An address as a number.
    Address,
    /// A place in a file.
    Offset,
    /// A place in a packed buffer.
    Position,
    /// A process in a group; also of neighbors and roots.
    Rank,
    /// Triplets of ranks: first, last, stride.
    Ranges,
    /// A tag of messages.
    Tag,
    /// The part of a communicator that a process wants to be in.
    Color,
    /// An order among processes.
    Key,
    /// A part of a partitioned message.
    Partition,
    /// A logical value.
    Flag,
    /// A place in an array or list.
    Index,
    /// The key of an attribute.
    Keyval,
    /// An error code; also what a function returns.
    ErrorCode,
    /// An error class.
    ErrorClass,
    /// The weight of an edge.
    Weight,
    /// A number of edges.
    Degree,
    /// A number of processes along a dimension, or the number of dimensions.
    Dimension,
    /// A place along a dimension.
    Coordinate,
    /// A precision or range of Fortran's numbers.
    Digits,
    /// Sizes and starts of (sub)arrays, and arguments of distributions.
    ArrayShape,
    /// `MPI_THREAD_SINGLE` and the like.
    ThreadLevel,
    /// `MPI_IDENT` and the like.
    Comparison,
    /// `MPI_COMM_TYPE_SHARED` and the like.
    SplitType,
    /// `MPI_CART` and the like.
    Topology,
    /// `MPI_LOCK_SHARED` or `MPI_LOCK_EXCLUSIVE`.
    LockType,
    /// `MPI_MODE_NOCHECK` and the like, added up.
    Assertion,
    /// `MPI_MODE_RDONLY` and the like, added up.
    AccessMode,
    /// `MPI_SEEK_SET` and the like.
    Whence,
    /// `MPI_ORDER_C` or `MPI_ORDER_FORTRAN`.
    Order,
    /// `MPI_DISTRIBUTE_BLOCK` and the like.
    Distribution,
    /// `MPI_COMBINER_NAMED` and the like.
    Combiner,
    /// `MPI_TYPECLASS_REAL` and the like.
    TypeClass,
    /// A constant of `MPI_T`: verbosity, binding, scope, class, safety, order.
    ToolConstant,
    /// A version of a standard or an interface.
    Version,
    /// The level of profiling.
    Level,
    /// A file descriptor.
    Descriptor,
    /// A time in seconds.
    Seconds,
    /// A time in ticks of a source of events.
    Ticks,
}

impl Kind {
    /// Every kind and its word in `parameters.tsv`.
    #[rustfmt::skip]
    pub const ALL: [(Self, &'static str); 71] = [
        (Self::Communicator, "communicator"),
        (Self::Group, "group"),
        (Self::Datatype, "datatype"),
        (Self::Op, "op"),
        (Self::Request, "request"),
        (Self::Message, "message"),
        (Self::Window, "window"),
        (Self::File, "file"),
        (Self::Info, "info"),
        (Self::Errhandler, "errhandler"),
        (Self::Session, "session"),
        (Self::Status, "status"),
        (Self::ToolHandle, "tool_handle"),
        (Self::VendorHandle, "vendor_handle"),
        (Self::FortranHandle, "fortran_handle"),
        (Self::FortranStatus, "fortran_status"),
        (Self::FortranLogical, "fortran_logical"),
        (Self::Buffer, "buffer"),
        (Self::Memory, "memory"),
        (Self::MemoryPointer, "memory_pointer"),
        (Self::Attribute, "attribute"),
        (Self::State, "state"),
        (Self::Object, "object"),
        (Self::Callback, "callback"),
        (Self::String, "string"),
        (Self::Strings, "strings"),
        (Self::StringLists, "string_lists"),
        (Self::Count, "count"),
        (Self::Length, "length"),
        (Self::Number, "number"),
        (Self::Size, "size"),
        (Self::Extent, "extent"),
        (Self::Displacement, "displacement"),
        (Self::Address, "address"),
        (Self::Offset, "offset"),
        (Self::Position, "position"),
        (Self::Rank, "rank"),
        (Self::Ranges, "ranges"),
        (Self::Tag, "tag"),
        (Self::Color, "color"),
        (Self::Key, "key"),
        (Self::Partition, "partition"),
        (Self::Flag, "flag"),
        (Self::Index, "index"),
        (Self::Keyval, "keyval"),
        (Self::ErrorCode, "error_code"),
        (Self::ErrorClass, "error_class"),
        (Self::Weight, "weight"),
        (Self::Degree, "degree"),
        (Self::Dimension, "dimension"),
        (Self::Coordinate, "coordinate"),
        (Self::Digits, "digits"),
        (Self::ArrayShape, "array_shape"),
        (Self::ThreadLevel, "thread_level"),
        (Self::Comparison, "comparison"),
        (Self::SplitType, "split_type"),
        (Self::Topology, "topology"),
        (Self::LockType, "lock_type"),
        (Self::Assertion, "assertion"),
        (Self::AccessMode, "access_mode"),
        (Self::Whence, "whence"),
        (Self::Order, "order"),
        (Self::Distribution, "distribution"),
        (Self::Combiner, "combiner"),
        (Self::TypeClass, "type_class"),
        (Self::ToolConstant, "tool_constant"),
        (Self::Version, "version"),
        (Self::Level, "level"),
        (Self::Descriptor, "descriptor"),
        (Self::Seconds, "seconds"),
        (Self::Ticks, "ticks"),
    ];
}
